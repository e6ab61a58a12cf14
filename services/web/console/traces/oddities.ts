import { count, plural } from '../frame/format.ts'
import type { Oddity, TraceTree } from './trace-tree.ts'

/** What is odd about a span, for those who look at it. */
export const ODDITY_TEXTS: Readonly<Record<Oddity, string>> = {
  orphan: 'The parent of this span is not stored. It is late, elsewhere, or was not sent.',
  cycle: 'This span is below itself. The circle is cut open here.',
  open: 'This span has no end: it is still running, or its sender stopped.',
  negative: 'This span ends before it starts: the clock of its sender went back. It shows no time.',
  outside: 'This span is not within the time of its parent: two clocks differ, or it outlived it.',
}

const SUMMARIES: Readonly<Record<Exclude<Oddity, 'open'>, (number: number) => string>> = {
  orphan: (number) => `${plural(number, 'span')} whose parent is not stored`,
  cycle: (number) => `${plural(number, 'circle')} of spans`,
  negative: (number) =>
    number === 1
      ? '1 span that ends before it starts'
      : `${count(number)} spans that end before they start`,
  outside: (number) => `${plural(number, 'span')} outside the time of their parent`,
}

/** Returns what is odd about a trace as a whole; undefined when nothing is. */
export function summarizeOddities({ rows }: TraceTree): string | undefined {
  const counts = new Map<Oddity, number>()
  for (const { oddities } of rows) {
    for (const each of oddities) counts.set(each, (counts.get(each) ?? 0) + 1)
  }
  const parts = Object.entries(SUMMARIES).flatMap(([oddity, say]) => {
    // The keys of an object are no more than texts.
    const number = counts.get(oddity as Oddity) ?? 0
    return number > 0 ? say(number) : []
  })
  const roots = rows.filter(({ span }) => span.parentId === null).length
  if (roots > 1) parts.unshift(`${count(roots)} spans without a parent`)
  return parts.length > 0 ? `This trace has ${parts.join(', ')}.` : undefined
}
