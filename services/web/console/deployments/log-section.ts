import { html } from 'hono/html'
import type { CrewLog, LogStream } from '../../../platform/crews/crew-logs.ts'
import { absoluteTime, count, plural } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'

/** The most lines that a page has of a log, and the most characters of a line: the newest. */
const LINES_SHOWN = 1000
const LINE_CHARACTERS_SHOWN = 4000

interface LogLine {
  readonly at: Date
  text: string
}

/** A log of a deployment as a section shows it: the lines with a text, or all of them. */
interface ShownLog {
  readonly title: string
  readonly stream: LogStream
  readonly log: CrewLog
  /** The path of the deployment. */
  readonly path: string
  readonly find: string
}

/**
 * A log in a pane of its own, the newest lines at its end, each with the time at which it was
 * stored. What is typed to find lines stays while new ones come.
 */
export function logSection({ title, stream, log, path, find }: ShownLog): Html {
  return html`<section class="card" aria-labelledby="log-${stream}">
    <div class="card-head">
      <h2 id="log-${stream}">${title}</h2>
      <form class="find-lines" action="${path}#log-${stream}">
        <input
          type="search"
          name="${stream}"
          value="${find}"
          placeholder="Find lines"
          aria-label="Find lines in: ${title}"
          maxlength="200"
        />
        <button class="button">Find</button>
      </form>
    </div>
    <div data-part="${stream}">${logPane({ title, stream, log, path, find })}</div>
  </section>`
}

function logPane({ title, stream, log, path, find }: ShownLog): Html {
  if (log.text === '') return html`<p class="hint">Nothing was written yet.</p>`
  const lines = linesOf(log)
  const needle = find.toLowerCase()
  const found = lines.filter(({ text }) => text.toLowerCase().includes(needle))
  const shown = found.slice(-LINES_SHOWN)
  const said = [
    'Times in UTC.',
    ...(find === '' ? [] : [`${count(found.length)} of ${plural(lines.length, 'line')}.`]),
    ...(shown.length < found.length ? [`The newest ${count(shown.length)} are shown.`] : []),
    ...(log.isCut ? ['The beginning of the log is no longer kept.'] : []),
  ]
  return html`<p class="hint">${said.join(' ')} <a href="${path}/logs/${stream}">Save</a></p>
    <pre
      class="code log"
      tabindex="0"
      aria-label="${title}"
    ><code>${shown.map(logLine)}</code></pre>`
}

/** White space counts: the formatter leaves it alone in what is put in. */
function logLine({ at, text }: LogLine): Html {
  const [moment, rest] = [at.toISOString(), ` ${text}\n`]
  const clock = moment.slice(11, 19)
  return html`<time datetime="${moment}" title="${absoluteTime(at)}">${clock}</time>${rest}`
}

/** Without the colours of terminals. A line that was stored in pieces has the time of the first. */
function linesOf({ pieces }: CrewLog): LogLine[] {
  const lines: LogLine[] = []
  let open: LogLine | undefined
  for (const { at, text } of pieces) {
    for (const [index, part] of text.split('\n').entries()) {
      if (index === 0 && open) open.text += part
      else lines.push((open = { at, text: part }))
    }
  }
  return lines
    .map(({ at, text }) => ({ at, text: visibleText(plain(text)).slice(0, LINE_CHARACTERS_SHOWN) }))
    .filter(({ text }) => text !== '')
}

const ESCAPE = '\u001b['
const COLOUR = /^[\d;]{0,20}m/

const plain = (text: string): string =>
  text
    .split(ESCAPE)
    .map((part, index) => {
      if (index === 0) return part
      return COLOUR.test(part) ? part.replace(COLOUR, '') : `${ESCAPE}${part}`
    })
    .join('')
