// How a secret that is sent to somebody stands in the file: as the name of a variable, or in a pinch as text.
import { z } from 'zod'
import { Secret } from '../core/secret.ts'

/** Stands in hints for the variable of the supplier at hand. */
export const ANY_VARIABLE = '${SUPPLIER_API_KEY}'

const CREDENTIAL_HINT = `a variable of the environment such as ${ANY_VARIABLE}`

/** Text in the file, or `${NAME}` of the environment; never printed again. */
export const Credential = z
  .string()
  .refine((text) => text.trim() !== '', { message: `is empty: write ${CREDENTIAL_HINT}` })
  .refine((text) => /^[\x21-\x7e]*$/.test(text.trim()), {
    message:
      'holds a space, a line break or a letter that no header can carry: copy the credential again, without quotes or `Bearer` in it',
  })
  .transform((text) => new Secret(text.trim()))
  .meta({ hint: CREDENTIAL_HINT, secret: true })
