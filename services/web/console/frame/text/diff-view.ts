import { html } from 'hono/html'
import { plural } from '../format.ts'
import type { Html } from '../parts.ts'
import { visibleText } from './visible-text.ts'
import type { DiffLine } from './line-diff.ts'

/** The unchanged lines that are shown around changed ones. */
const CONTEXT = 3
const LINES_SHOWN_MAX = 5000

/** A line, or how many unchanged ones are left out. */
type Shown = DiffLine | { readonly kind: 'gap'; readonly count: number }

/** The difference of two texts, line by line, with what is unchanged between folded. */
export function diffView(lines: readonly DiffLine[], label = 'What the proposal changes'): Html {
  const all = fold(lines)
  const shown = all.slice(0, LINES_SHOWN_MAX)
  const left = all.length - shown.length
  const rest = left > 0 ? gap(plural(left, 'further line')) : ''
  return html`<pre
    class="code diff"
    tabindex="0"
    aria-label="${label}"
  ><code>${shown.map(lineView)}${rest}</code></pre>`
}

/** Says how many lines are added and removed. */
export function diffCounts(lines: readonly DiffLine[]): string {
  const count = (kind: DiffLine['kind']): number =>
    lines.filter((each) => each.kind === kind).length
  return `${plural(count('added'), 'line')} added, ${plural(count('removed'), 'line')} removed`
}

function lineView(line: Shown): Html {
  if (line.kind === 'gap') return gap(plural(line.count, 'unchanged line'))
  const text = visibleText(line.text)
  if (line.kind === 'added') return html`<ins class="diff-line">+ ${text}</ins>`
  if (line.kind === 'removed') return html`<del class="diff-line">- ${text}</del>`
  return html`<span class="diff-line">${'  '}${text}</span>`
}

const gap = (text: string): Html => html`<span class="diff-gap">… ${text}</span>`

function fold(lines: readonly DiffLine[]): Shown[] {
  const isNear = nearChanges(lines)
  const shown: Shown[] = []
  let hidden = 0
  const flush = (): void => {
    if (hidden > 0) shown.push({ kind: 'gap', count: hidden })
    hidden = 0
  }
  for (const [index, line] of lines.entries()) {
    if (isNear[index]) {
      flush()
      shown.push(line)
    } else hidden += 1
  }
  flush()
  return shown
}

/** Tells of each line whether it is changed, or so near to one that it is shown. */
function nearChanges(lines: readonly DiffLine[]): readonly boolean[] {
  const isNear = lines.map(() => false)
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue
    isNear.fill(true, Math.max(0, index - CONTEXT), index + CONTEXT + 1)
  }
  return isNear
}
