import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** A file that pages refer to. */
interface Asset {
  /** Its address, which changes with the content. */
  readonly path: string
  readonly type: string
  readonly content: string | Buffer<ArrayBuffer>
}

/**
 * The files that pages refer to, by their use; `traceScript` is that of the page of a trace,
 * `tracesScript` that of the list of traces, `editorScript` that of the editor of a version.
 */
type Assets = Readonly<
  Record<
    | 'stylesheet'
    | 'script'
    | 'traceScript'
    | 'tracesScript'
    | 'editorScript'
    | 'icon'
    | 'font'
    | 'fontOfMoreLetters',
    Asset
  >
>

/** The parts of the stylesheet in the order of the cascade, from the bare elements to one page. */
const STYLES = [
  'font.css',
  'tokens.css',
  'frame.css',
  'cards.css',
  'fields.css',
  'tables.css',
  'notices.css',
  'narrow.css',
  'forms.css',
  'lists.css',
  'pages.css',
  'run.css',
  'json.css',
  'diff.css',
  'editor.css',
  'trace.css',
  'traces.css',
  'platform-health.css',
]

/** The parts of the script of all pages. */
const SCRIPTS = ['console.js', 'palette.js', 'shortcuts.js']

/** The parts of the script of a trace; each may use what those before it export. */
const TRACE_SCRIPT = [
  'trace-row.js',
  'trace-list.js',
  'trace-view.js',
  'trace-keys.js',
  'trace-page.js',
]

/** The parts of the script of the editor. */
const EDITOR_SCRIPT = ['history.js', 'editor.js']

const SCRIPT = 'text/javascript; charset=utf-8'

let assets: Assets | undefined

/**
 * Returns the assets of the console. They are read at the first call: they do not change while a
 * process runs, and each page needs their addresses.
 */
export const getAssets = (): Assets => (assets ??= readAssets())

/** Reads the folder `assets` beside this file, or beside the bundle in an image. */
function readAssets(): Assets {
  const folder = new URL('./assets/', import.meta.url)
  const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8')
  const readFont = (file: string): Asset =>
    toAsset(`inter-${file}`, 'font/woff2', readFileSync(new URL(`inter/${file}`, folder)))
  const font = readFont('latin.woff2')
  const fontOfMoreLetters = readFont('latin-ext.woff2')
  const styles = STYLES.map(read)
    .join('\n')
    .replace('inter/latin.woff2', font.path)
    .replace('inter/latin-ext.woff2', fontOfMoreLetters.path)
  const editor = EDITOR_SCRIPT.map(read).map(withoutImports).join('\n')
  return {
    font,
    fontOfMoreLetters,
    stylesheet: toAsset('console.css', 'text/css; charset=utf-8', styles),
    script: toAsset('console.js', SCRIPT, SCRIPTS.map(read).map(withoutImports).join('\n')),
    traceScript: toAsset('trace.js', SCRIPT, TRACE_SCRIPT.map(read).map(withoutImports).join('\n')),
    tracesScript: toAsset('traces.js', SCRIPT, read('traces-live.js')),
    editorScript: toAsset('editor.js', SCRIPT, editor),
    icon: toAsset('icon.svg', 'image/svg+xml', read('icon.svg')),
  }
}

/** The parts of a script become one file, whose address follows from its content. */
const withoutImports = (module: string): string =>
  module.replace(/^import [^']*'[^']*'$/gm, '').replace(/^export /gm, '')

function toAsset(name: string, type: string, content: Asset['content']): Asset {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 12)
  return { path: `/assets/${name.replace('.', `-${hash}.`)}`, type, content }
}
