// The demo's speech. No model speaks: a WAV beeps once a character, an MP3 is silent, and both carry the text.
import { isJson, type Json } from './json.ts'
import { badRequest } from './refusal.ts'
import { parseBody, readText } from './request.ts'
import { writeMp3, writeWav } from './sound-file.ts'
import type { TaskRequest } from './task.ts'

const CHARACTERS_MAX = 4096
const SPEED_LEAST = 0.25
const SPEED_MOST = 4

export function readSpeakRequest(body: string): TaskRequest {
  const json = parseBody(body)
  const model = readText(json, 'model')
  const text = readText(json, 'input')
  if (Array.from(text).length > CHARACTERS_MAX)
    throw badRequest(`Invalid 'input': expected at most ${CHARACTERS_MAX} characters.`, 'input')
  checkVoice(json['voice'])
  const speed = readSpeed(json)
  const isWav = readFormat(json['response_format']) === 'wav'
  return {
    model,
    compose: () =>
      isWav
        ? { body: writeWav(text, speed), contentType: 'audio/wav' }
        : { body: writeMp3(text, speed), contentType: 'audio/mpeg' },
  }
}

/** Any name will do: all of them sound alike. */
function checkVoice(value: unknown): void {
  const voice = isJson(value) ? value['id'] : (value ?? 'beep')
  if (typeof voice !== 'string') throw badRequest("Invalid 'voice': expected a name.", 'voice')
}

function readFormat(value: unknown): 'mp3' | 'wav' {
  const format = value ?? 'mp3'
  if (format === 'mp3' || format === 'wav') return format
  throw badRequest("Invalid 'response_format': expected mp3 or wav.", 'response_format')
}

function readSpeed(json: Json): number {
  const speed = json['speed'] ?? 1
  if (typeof speed === 'number' && speed >= SPEED_LEAST && speed <= SPEED_MOST) return speed
  throw badRequest(
    `Invalid 'speed': expected a number from ${SPEED_LEAST} to ${SPEED_MOST}.`,
    'speed',
  )
}
