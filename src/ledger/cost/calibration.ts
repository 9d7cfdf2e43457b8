// How far a count by our vocabularies is from what a model's supplier counts, learned from what suppliers tell. One
// ratio for each model, in memory alone: it is a guess that gets better, and no figure of the books.

/** What a model's tokens are taken to be beside ours before anything was learned: makers of others cut finer. */
const KNOWN_FACTOR = 1
const UNKNOWN_FACTOR = 1.2
/** Whatever is told beyond these is no other way to count, but something else that was counted. */
const FACTOR_MIN = 0.25
const FACTOR_MAX = 4
/** Of less than this the supplier's own words around a request are too large a part. */
const TELLING_TOKENS = 200
/** The newest always counts for so much: contents change, and so do models. */
const WEIGHT_MIN = 0.05
/** Deviations that were seen before their mean is worth telling. */
const SAMPLES_TELLING = 5
const MODELS_MAX = 2_000
/** So many calls of a model are looked at as they come, afterwards one of a few and not too soon after the last. */
const EAGER_CALLS = 20
const ONE_OF = 64
const PAUSE_MS = 10_000
/** Without a question for so long nobody needs to know better. */
const WANTED_MS = 3_600_000

interface Known {
  factor: number
  /** What has taught it. */
  samples: number
  /** The mean distance of what was foretold from what was told, as a share of the latter. */
  deviation: number
  /** Calls that could teach, and when one last did. */
  seen: number
  taughtAt: number
}

export class Calibration {
  readonly #models = new Map<string, Known>()
  #wantedAt = Number.NEGATIVE_INFINITY

  /** Tokens of the supplier's for each of ours. */
  factor(model: string, isVocabularyKnown: boolean): number {
    const known = this.#models.get(model)
    return known === undefined || known.samples === 0 ? priorOf(isVocabularyKnown) : known.factor
  }

  /** How far estimates for the model are off on the average; undefined while too few are known to say. */
  deviation(model: string): number | undefined {
    const known = this.#models.get(model)
    return known !== undefined && known.samples > SAMPLES_TELLING ? known.deviation : undefined
  }

  /** Somebody asks for a count: what is learned from now on is of use. */
  want(now: number): void {
    this.#wantedAt = now
  }

  /** Whether a call of the model is to be learned from; each is asked about once. */
  isDue(model: string, now: number): boolean {
    // The vocabularies take tens of megabytes: nobody has them in memory who does not count.
    if (now - this.#wantedAt >= WANTED_MS) return false
    const known = this.#models.get(model) ?? this.#open(model)
    known.seen += 1
    if (known.seen <= EAGER_CALLS) return true
    return known.seen % ONE_OF === 0 && now - known.taughtAt >= PAUSE_MS
  }

  /** `counted`: tokens of ours. `told`: what the supplier made of the same. */
  learn(model: string, counted: number, told: number, now: number): void {
    if (counted < TELLING_TOKENS || !(told > 0)) return
    const known = this.#models.get(model) ?? this.#open(model)
    const foretold = counted * known.factor
    const weight = Math.max(1 / (known.samples + 1), WEIGHT_MIN)
    const ratio = Math.min(Math.max(told / counted, FACTOR_MIN), FACTOR_MAX)
    known.factor += (ratio - known.factor) * weight
    // The first has taught, and nothing that was learned stands behind what it would be compared with.
    if (known.samples > 0) {
      const share = Math.max(1 / known.samples, WEIGHT_MIN)
      known.deviation += (Math.abs(foretold - told) / told - known.deviation) * share
    }
    known.samples += 1
    known.taughtAt = now
  }

  /** The one that was opened first makes room. */
  #open(model: string): Known {
    if (this.#models.size >= MODELS_MAX) {
      const [oldest] = this.#models.keys()
      if (oldest !== undefined) this.#models.delete(oldest)
    }
    const known = {
      factor: 0,
      samples: 0,
      deviation: 0,
      seen: 0,
      taughtAt: Number.NEGATIVE_INFINITY,
    }
    this.#models.set(model, known)
    return known
  }
}

function priorOf(isVocabularyKnown: boolean): number {
  return isVocabularyKnown ? KNOWN_FACTOR : UNKNOWN_FACTOR
}
