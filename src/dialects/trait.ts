// How the table of a language says what becomes of a trait, and which trait a thing is.
import type { Source, Trait } from '../core/chat.ts'
import type { Fate, TraitNote } from './codec.ts'

export const kept = write('kept')
export const worded = write('worded')
export const lost = write('lost')

function write(fate: Fate): (note: string, ...pointers: readonly string[]) => TraitNote {
  return (note, ...pointers) => ({ fate, pointers, note })
}

const SOURCE_TRAITS = {
  image: { data: 'image_data', url: 'image_url', id: 'image_id', text: 'image_data' },
  file: { data: 'file_data', url: 'file_url', id: 'file_id', text: 'file_text' },
} as const

export function sourceTrait(kind: 'image' | 'file', source: Source): Trait {
  return SOURCE_TRAITS[kind][source.kind]
}
