// Text for a terminal: measured in the columns it takes, wrapped, cut, and rid of whatever would steer the
// terminal, because names and models are other people's words.

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 }

export function paint(text: string, style: Style): string {
  return `\x1b[${CODES[style]}m${text}\x1b[0m`
}

// Control characters, line and paragraph separators, and marks that turn the direction of writing.
const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** One line that only shows. A control character stays visible as what it is. */
export function clean(text: string): string {
  return text.toWellFormed().replaceAll(STEERING, (character) => {
    if (character === '\n') return '↵'
    if (character === '\t') return ' '
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export function widthOf(text: string): number {
  return Bun.stringWidth(text)
}

let segmenter: Intl.Segmenter | undefined

/** Cut to a width; the last column then says that something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  let used = 0
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  for (const { segment } of segmenter.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const room = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'left' ? text + room : room + text
}

/** Lines of at most `width` columns; a word that is longer stays whole, so that it can be copied. */
export function wrap(text: string, width: number): readonly string[] {
  return text.split('\n').flatMap((paragraph) => wrapParagraph(paragraph, width))
}

/** Lines that are drawn and not written: an excerpt of a file with its mark. */
const DRAWN = /^ *\d* \| /

/** Text that has lines of its own: each that is too long goes on below itself, a little further right. */
export function wrapLines(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => {
      if (widthOf(line) <= width) return [line]
      if (DRAWN.test(line)) return [cut(line, width)]
      const indent = /^ */.exec(line)?.[0] ?? ''
      const lines = wrap(line.slice(indent.length), width - indent.length - 2)
      return lines.map((part, index) => indent + (index === 0 ? '' : '  ') + part)
    })
    .join('\n')
}

function wrapParagraph(paragraph: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of paragraph.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line === '' || widthOf(longer) <= width) {
      line = longer
      continue
    }
    lines.push(line)
    line = word
  }
  lines.push(line)
  return lines
}
