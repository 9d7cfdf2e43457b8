// Tokens: credentials of a project or a team. They are made, read and ended as keys are, at a place of their
// own.
import { credentialEndpoints } from './keys.ts'

export const tokenEndpoints = credentialEndpoints('token', '/v1/manage/tokens')
