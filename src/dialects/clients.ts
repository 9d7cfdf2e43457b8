// What client programs are known to need, told apart by the headers they send. Seen on the wire in
// November 2026.

const SDK_AGENT = /^(OpenAI|AsyncOpenAI|Anthropic|AsyncAnthropic|claude-cli|claude-code)\b/

/** SDKs read `data` of a listing and take a plain array for an empty one. */
export function readsListObjects(headers: Headers): boolean {
  if (headers.has('x-stainless-lang') || headers.has('anthropic-version')) return true
  return SDK_AGENT.test(headers.get('user-agent') ?? '')
}
