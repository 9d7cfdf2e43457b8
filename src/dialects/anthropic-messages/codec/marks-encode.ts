// Marks for a cache in a whole request, of which suppliers take a few. The last ones keep the most: each stands for all
// that comes before it.
import type { Trait } from '../../../core/chat.ts'
import { isFields, type Fields } from '../../json.ts'

const MARKS_MAX = 4
const MARK = 'cache_control'

/** Leaves out the earliest marks, in the order in which a supplier reads: tools, what the system says, messages. */
export function limitMarks(fields: Fields, lost: Set<Trait>): Fields {
  const { tools, system, messages, ...rest } = fields
  const surplus = countMarks([tools, system, messages]) - MARKS_MAX
  if (surplus <= 0) return fields
  lost.add('cache')
  const eraser = new Eraser(surplus)
  const erased = { tools: eraser.erase(tools), system: eraser.erase(system) }
  return { system: erased.system, messages: eraser.erase(messages), tools: erased.tools, ...rest }
}

/** Looks at lists, and at the lists inside of what is on them: no mark stands anywhere else. */
function countMarks(list: unknown): number {
  if (!Array.isArray(list)) return 0
  let count = 0
  for (const item of list) {
    if (Array.isArray(item)) count += countMarks(item)
    else if (isFields(item))
      count += countMarks(item['content']) + (item[MARK] === undefined ? 0 : 1)
  }
  return count
}

class Eraser {
  #left: number

  constructor(marks: number) {
    this.#left = marks
  }

  erase(list: unknown): unknown {
    if (!Array.isArray(list)) return list
    return list.map((item: unknown) => (isFields(item) ? this.#eraseItem(item) : item))
  }

  #eraseItem(item: Fields): Fields {
    const content = item['content']
    const inner = Array.isArray(content) ? { ...item, content: this.erase(content) } : item
    if (inner[MARK] === undefined || this.#left === 0) return inner
    this.#left--
    const { [MARK]: _, ...rest } = inner
    return rest
  }
}
