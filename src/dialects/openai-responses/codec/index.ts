// Assembles the codec of this language; each half has a file of its own.
import type { Codec } from '../../codec.ts'
import { encodeRequest } from './request-encode.ts'
import { decodeRequest } from './request-decode.ts'
import { decodeResponse } from './response-decode.ts'
import { encodeResponse } from './response-encode.ts'
import { createDecoder } from './stream-decode.ts'
import { createEncoder } from './stream-encode.ts'
import { traits } from './traits.ts'

export const codec: Codec = {
  request: { decode: decodeRequest, encode: encodeRequest },
  response: { decode: decodeResponse, encode: encodeResponse },
  stream: { decoder: createDecoder, encoder: createEncoder },
  traits,
}
