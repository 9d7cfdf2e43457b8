// Fields that no caller may send, in whatever language: who is asked, by which address and with which credential is
// for the operator to say. One list, so that no language forgets one of them.
import { fault, type Draft } from './draft.ts'

/** A destination, or a supplier's credential. */
const SECRETS = ['api_key', 'base_url', 'api_base', 'custom_host'] as const
/** Some suppliers run another model than `model` when these are there, past the key's list and its price. */
const ROUTES = ['models', 'route', 'fallbacks'] as const

export const REFUSED_FIELDS = [...SECRETS, ...ROUTES] as const

export type RefusedField = (typeof REFUSED_FIELDS)[number]

export function isRefused(field: string): field is RefusedField {
  return REFUSED_FIELDS.some((each) => each === field)
}

export function refuseField(draft: Draft, field: RefusedField): void {
  draft.cursor.skip()
  if (SECRETS.some((each) => each === field))
    return fault(
      draft,
      'raw_secret_field_rejected',
      field,
      `Remove \`${field}\`: suppliers and their credentials are set by the operator.`,
    )
  const text = `Remove \`${field}\` and name one model in \`model\`: the gateway fails over by itself.`
  fault(draft, 'unsupported_parameter', field, text)
}
