// An answer that broke after it began. The status line has already said 200 then, so the status
// here only chooses the type; what was delivered is incomplete and may have been charged.
import type { Problem } from './problem.ts'

export const STREAM = {
  stream_error: {
    status: 502,
    group: 'own',
    blame: 'supplier',
    raised: true,
    explanation: 'The supplier reported an error in the middle of the stream.',
    action: 'Treat the output as incomplete, and check for side effects before a repeat.',
  },
  stream_interrupted: {
    status: 502,
    group: 'own',
    blame: 'supplier',
    raised: true,
    explanation: 'The stream stopped before its proper end.',
    action:
      'Discard or mark the partial output; make sure that no tool already ran before you repeat.',
  },
  empty_stream: {
    status: 502,
    group: 'A',
    blame: 'supplier',
    raised: true,
    explanation: 'The stream opened and closed without a single event.',
    action: 'Repeat the call if that is safe, or choose another model.',
  },
  stream_drop: {
    status: 502,
    group: 'A',
    blame: 'supplier',
    raised: false,
    explanation: 'The line to the supplier was lost during the stream.',
    action: 'Keep what arrived as a fragment and begin anew when it is safe.',
  },
  stream_dropped: {
    status: 502,
    group: 'A',
    blame: 'gateway',
    raised: false,
    explanation: 'The gateway let go of the stream before the supplier had finished.',
    action: 'Look up the request id to learn how far it came.',
  },
  stream_exception: {
    status: 500,
    group: 'A',
    blame: 'gateway',
    raised: false,
    explanation: 'Reading the stream ended in an unexpected exception.',
    action: 'Report the request id; the text so far is a fragment.',
  },
  messages_terminal_finalization_failed: {
    status: 502,
    group: 'A',
    blame: 'gateway',
    raised: false,
    explanation: 'The closing events of a messages stream could not be produced.',
    action: 'Count the message as unfinished, even if all its text seems present.',
  },
  responses_terminal_finalization_failed: {
    status: 502,
    group: 'A',
    blame: 'gateway',
    raised: false,
    explanation: 'The closing event of a native stream could not be produced.',
    action: 'Read the state of the response before you continue from it.',
  },
  responses_terminal_not_completed: {
    status: 502,
    group: 'A',
    blame: 'supplier',
    raised: false,
    explanation: 'The native stream closed in another state than completed.',
    action: 'Inspect the final event for the reason, then decide on a new turn.',
  },
  sse_bridge_capacity_exhausted: {
    status: 503,
    group: 'B',
    blame: 'gateway',
    retryable: true,
    raised: false,
    explanation: 'All slots for bridged event streams are taken.',
    action: 'Open the stream again after a pause.',
  },
} as const satisfies Record<string, Problem>
