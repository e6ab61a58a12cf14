import { html, raw } from 'hono/html'
import type { Tool } from '../../../platform/tools/tools.ts'

const API_VERSION = '1.1'
/** The media type of the JSON form (PEP 691). */
export const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
/** The media type of the HTML form (PEP 691). */
const HTML_TYPE = 'application/vnd.pypi.simple.v1+html'
const PLAIN_HTML_TYPE = 'text/html'

type Told = 'filename' | 'version' | 'sha256' | 'requiresPython' | 'yankedReason'

/** A file with its address from the page of its tool. */
export interface IndexedFile extends Pick<Tool, Told> {
  readonly url: string
  /** In bytes; null: nobody says. */
  readonly size: number | null
  /** null: nobody says. */
  readonly createdAt: Date | string | null
  /** The SHA-256 of its description, which has its address with `.metadata` (PEP 658). */
  readonly metadataSha256: string | null
}

/** Renders the names of all tools (PEP 503), each with a link to its page below this one. */
export const namesHtml = (names: readonly string[]) =>
  indexPage(
    'Simple index',
    names.map((name) => html`<a href="${name}/">${name}</a><br />`),
  )

/** Returns the names of all tools as JSON (PEP 691). */
export const namesJson = (names: readonly string[]) => ({
  meta: { 'api-version': API_VERSION },
  projects: names.map((name) => ({ name })),
})

/** Renders the files of one tool (PEP 503). */
export const filesHtml = (name: string, files: readonly IndexedFile[]) =>
  indexPage(`Links for ${name}`, files.map(fileLink))

function fileLink(file: IndexedFile) {
  const { url, filename, sha256, requiresPython, yankedReason, metadataSha256 } = file
  const python = requiresPython === null ? '' : html` data-requires-python="${requiresPython}"`
  const metadata =
    metadataSha256 === null ? '' : html` data-core-metadata="sha256=${metadataSha256}"`
  const yanked = yankedReason === null ? '' : html` data-yanked="${yankedReason}"`
  return html`<a href="${url}#sha256=${sha256.toString('hex')}" ${python}${metadata}${yanked}
      >${filename}</a
    ><br />`
}

function indexPage(title: string, links: readonly ReturnType<typeof html>[]) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="pypi:repository-version" content="${API_VERSION}" />
        <title>${title}</title>
      </head>
      <body>
        <h1>${title}</h1>
        ${links.map((link) => html`${link}${raw('\n')}`)}
      </body>
    </html>`
}

/** Returns the files of one tool as JSON (PEP 691, PEP 700). */
export const filesJson = (name: string, files: readonly IndexedFile[]) => ({
  // Only the first version of it lets sizes be missing (PEP 700).
  meta: { 'api-version': files.some(({ size }) => size === null) ? '1.0' : API_VERSION },
  name,
  versions: [...new Set(files.map(({ version }) => version))],
  files: files.map((file) => ({
    filename: file.filename,
    url: file.url,
    hashes: { sha256: file.sha256.toString('hex') },
    ...(file.requiresPython === null ? {} : { 'requires-python': file.requiresPython }),
    yanked: file.yankedReason === null ? false : file.yankedReason || true,
    ...(file.size === null ? {} : { size: file.size }),
    ...(file.createdAt === null ? {} : { 'upload-time': file.createdAt }),
    ...(file.metadataSha256 === null ? {} : { 'core-metadata': { sha256: file.metadataSha256 } }),
  })),
})

const OFFERED: readonly (readonly [type: string, given: string])[] = [
  [PLAIN_HTML_TYPE, PLAIN_HTML_TYPE],
  [JSON_TYPE, JSON_TYPE],
  [HTML_TYPE, HTML_TYPE],
  ['application/vnd.pypi.simple.latest+json', JSON_TYPE],
  ['application/vnd.pypi.simple.latest+html', HTML_TYPE],
]
const ACCEPTED_MAX = 20

/**
 * Chooses the content type that a client prefers (PEP 691); HTML if it names none that is known
 * here.
 */
export function chooseType(accept: string | undefined): string {
  const wishes = (accept ?? '').split(',', ACCEPTED_MAX).map(parseWish)
  const weighOf = (type: string): number => {
    const [group] = type.split('/')
    const best = [type, `${group}/*`, '*/*'].map((range) =>
      wishes.find((wish) => wish.range === range),
    )
    return best.find((wish) => wish !== undefined)?.weight ?? 0
  }
  const weighed = OFFERED.map(([type, given]) => ({ given, weight: weighOf(type) }))
  const most = Math.max(...weighed.map(({ weight }) => weight))
  return most > 0
    ? (weighed.find(({ weight }) => weight === most)?.given ?? PLAIN_HTML_TYPE)
    : PLAIN_HTML_TYPE
}

function parseWish(text: string): { range: string; weight: number } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const quality = parameters.find((part) => part.startsWith('q='))?.slice(2)
  const weight = quality === undefined ? 1 : Number(quality)
  return { range, weight: weight >= 0 && weight <= 1 ? weight : 0 }
}
