// The part of the configuration file that says how sign-ins at a native supplier are renewed, and how somebody signs
// in there. Addresses are checked where it is known whether private ones are meant.
import { z } from 'zod'
import { Credential } from './credential.ts'

/** RFC 6749, appendix A: words of printable ASCII without quotes and backslashes. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/
const PRINTABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const HEADER = /^[A-Za-z0-9][A-Za-z0-9_-]*$/

/** What the sign-in itself puts into the address. */
const OWN_PARAMETERS = new Set([
  'response_type',
  'response_mode',
  'client_id',
  'redirect_uri',
  'state',
  'scope',
  'code_challenge',
  'code_challenge_method',
])

const PARAMETERS_MAX = 16

/** What belongs to the gateway, to the connection or to the body. */
const OWN_HEADERS =
  /^(?:authorization|proxy-.*|cookie|host|connection|upgrade|te|trailer|transfer-encoding|expect|accept.*|content-.*|x-svc-.*|x-api-key)$/i

const Address = z
  .string()
  .min(1)
  .max(2048)
  .meta({ hint: 'an address such as https://auth.example.com/oauth/token' })

const Parameter = z
  .string()
  .regex(/^[\w.-]{1,64}$/)
  .meta({ hint: 'letters, digits and . _ -, at most 64' })

/** A port of the machine that somebody signs in at: whoever else listened there would get the sign-in. */
const Redirect = z
  .string()
  .max(2048)
  .regex(/^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}(?:\/[\w.~-]+)*\/?$/)
  .refine((text) => URL.canParse(text))
  .meta({
    hint: 'an address of the own machine with a port, such as http://localhost:1455/callback',
  })

export const OAuth = z
  .strictObject({
    grant: z
      .enum(['refresh_token', 'client_credentials'])
      .optional()
      .describe(
        'How a new access token is got: by the token that came with the last one, or by what a program signs itself in with. Without it, unless the kind has one: refresh_token.',
      ),
    token_url: Address.optional().describe('Where tokens are got and renewed.'),
    client_id: z
      .string()
      .max(256)
      .regex(PRINTABLE)
      .optional()
      .describe('What the issuer knows the program by. Without it each sign-in brings its own.')
      .meta({ hint: 'the id that the issuer has given the program' }),
    client_secret: Credential.optional().describe(
      'What the program proves that with, where it has to.',
    ),
    client_auth: z
      .enum(['body', 'basic'])
      .optional()
      .describe(
        'Where id and secret stand: in the body, or in the header of Basic authentication. Without it: body.',
      ),
    format: z
      .enum(['form', 'json'])
      .optional()
      .describe('How the body of a renewal is written. Without it, unless the kind has one: form.'),
    scope: z
      .string()
      .max(1024)
      .regex(SCOPE)
      .optional()
      .describe('What is asked for, with a space between any two words.')
      .meta({ hint: 'words such as openid offline_access, with one space between them' }),
    audience: z
      .string()
      .max(1024)
      .regex(PRINTABLE)
      .optional()
      .describe('Whom tokens are meant for, where the issuer wants to be told.')
      .meta({ hint: 'what the issuer calls the interface, often its address' }),
    authorize_url: Address.optional().describe(
      'Where `gateway native login` sends a browser. Without it nobody signs in that way.',
    ),
    authorize_parameters: z
      .record(Parameter, z.string().max(1024))
      .refine((parameters) => Object.keys(parameters).length <= PARAMETERS_MAX, {
        message: `are too many: write at most ${PARAMETERS_MAX}`,
      })
      .superRefine((parameters, context) => {
        const message = 'is what every sign-in says by itself: remove it'
        for (const name of Object.keys(parameters))
          if (OWN_PARAMETERS.has(name)) context.addIssue({ code: 'custom', path: [name], message })
      })
      .optional()
      .describe('What is added to that address, beside what every sign-in says.')
      .meta({ hint: 'one parameter a line with its value, such as prompt: login' }),
    redirect_url: Redirect.optional().describe(
      'Where the browser comes back to, if the issuer knows only one such place. Without it: any free port of the machine.',
    ),
    device_url: Address.optional().describe(
      'Where `gateway native login --device` gets a code that is entered elsewhere (RFC 8628).',
    ),
    subject_header: z
      .string()
      .max(64)
      .regex(HEADER)
      .refine((name) => !OWN_HEADERS.test(name), {
        message: 'is a header that the gateway sets itself: write the one that names the account',
      })
      .transform((name) => name.toLowerCase())
      .optional()
      .describe('The header that tells the supplier which account a sign-in is for.')
      .meta({ hint: 'the name of a header such as x-account-id' }),
  })
  .meta({ hint: 'its fields below it, such as token_url: https://auth.example.com/oauth/token' })

export type OAuthConfig = z.output<typeof OAuth>
