// What is changed in every relayed request, whatever its language: the model gets the name that its supplier has for it,
// and the gateway's own fields go, with what held nothing else.
import { dropMembers, type Member, type Splice } from '../wire/json-splice.ts'
import type { BodyLayout } from './dialect.ts'

export class OwnFields {
  readonly #model: number
  readonly #region: number
  readonly #metadata: number

  constructor(keyOf: (field: 'model' | 'region' | 'metadata') => number) {
    this.#model = keyOf('model')
    this.#region = keyOf('region')
    this.#metadata = keyOf('metadata')
  }

  rename({ members }: BodyLayout, model: string): Splice {
    const { value, to } = members.find(({ key }) => key === this.#model)!
    return { from: value, to, text: JSON.stringify(model) }
  }

  /** Whether there may be any of the gateway's own: also a region of null, which is none. */
  areIn({ members, metadata }: BodyLayout): boolean {
    return metadata !== undefined || members.some(({ key }) => key === this.#region)
  }

  /** Takes them out, and whatever else is not to be sent. */
  drop(
    { members, metadata = [] }: BodyLayout,
    isUnwanted: (member: Member) => boolean,
  ): readonly Splice[] {
    const isSpent = metadata.length > 0 && metadata.every(isListed)
    const outer = dropMembers(
      members,
      (member) =>
        member.key === this.#region ||
        (isSpent && member.key === this.#metadata) ||
        isUnwanted(member),
    )
    return isSpent ? outer : [...outer, ...dropMembers(metadata, isListed)]
  }
}

/** Of metadata only the names that are the gateway's are listed. */
function isListed({ key }: Member): boolean {
  return key >= 0
}
