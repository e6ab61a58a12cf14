import * as v from 'valibot'
import { normalizeToolName, parseToolFilename } from '../../../../platform/tools/python-packages.ts'
import type { UpstreamFile } from '../../../../platform/tools/upstream-packages.ts'
import { AppError } from '../../../../shared/errors.ts'

/** What is accepted of a public index, the best form first (PEP 691). */
export const ACCEPT =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, ' +
  'text/html;q=0.1'
const FILES_MAX = 50_000
const SHA256 = /^[0-9a-f]{64}$/

/** A page as a public index sent it. */
interface SentPage {
  readonly name: string
  /** Where it came from, to which its links are relative. */
  readonly url: URL
  readonly type: string
  readonly body: string
}

/** What both forms of a page say of a file. */
interface Listed extends Omit<UpstreamFile, 'sha256'> {
  /** Undefined for a file that nobody can check. */
  readonly sha256: string | undefined
}

/**
 * Reads the page of a name, as JSON (PEP 691) or HTML (PEP 503). Left out are files of other names,
 * of old formats, and those without a SHA-256. Raises `bad_gateway` when it is no such page.
 */
export function readUpstreamPage(page: SentPage): UpstreamFile[] {
  const listed = /[/+]json/.test(page.type) ? readJson(page) : readHtml(page)
  return listed.flatMap(({ sha256, ...file }) => {
    const parsed = parseToolFilename(file.filename)
    const isOfName = parsed !== undefined && normalizeToolName(parsed.name) === page.name
    return isOfName && sha256 !== undefined && isSafe(page.url, file.url)
      ? [{ ...file, sha256 }]
      : []
  })
}

/** An index with TLS does not lead to a file without. */
const isSafe = (page: URL, link: string): boolean =>
  /^https?:/.test(link) && (page.protocol === 'http:' || link.startsWith('https:'))

const hashes = v.record(v.string(), v.string())
const jsonPage = v.object({
  files: v.pipe(
    v.array(
      v.object({
        filename: v.string(),
        url: v.string(),
        hashes,
        'requires-python': v.nullish(v.string()),
        'core-metadata': v.optional(v.union([v.boolean(), hashes])),
        yanked: v.optional(v.union([v.boolean(), v.string()])),
        size: v.nullish(v.number()),
        'upload-time': v.nullish(v.string()),
      }),
    ),
    v.maxLength(FILES_MAX),
  ),
})

function readJson({ body, url, name }: SentPage): Listed[] {
  const page = v.safeParse(v.pipe(v.string(), v.parseJson(), jsonPage), body)
  if (!page.success) throw unreadable(name)
  return page.output.files.map((file) => {
    const { yanked = false, 'core-metadata': metadata } = file
    return {
      filename: file.filename,
      url: absolute(file.url, url),
      sha256: hashOf(file.hashes['sha256']),
      metadataSha256: (typeof metadata === 'object' && hashOf(metadata['sha256'])) || null,
      size: file.size ?? null,
      requiresPython: file['requires-python'] ?? null,
      yankedReason: typeof yanked === 'string' ? yanked : yanked ? '' : null,
      uploadedAt: file['upload-time'] ?? null,
    }
  })
}

const LINK = /<a\s([^>]*)>/gi
const ATTRIBUTE = /([a-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?/gi

function readHtml({ body, url, name }: SentPage): Listed[] {
  const links = [...body.matchAll(LINK)]
  if (links.length > FILES_MAX || !/<html|<a\s/i.test(body)) throw unreadable(name)
  return links.map(([, text = '']) => {
    const given = new Map(
      [...text.matchAll(ATTRIBUTE)].map(([, key = '', one, other]) => [
        key.toLowerCase(),
        decode(one ?? other ?? ''),
      ]),
    )
    const [link = '', hash = ''] = absolute(given.get('href') ?? '', url).split('#')
    const metadata = given.get('data-core-metadata') ?? given.get('data-dist-info-metadata')
    return {
      filename: decodeName(link),
      url: link,
      sha256: hashOf(hash.replace(/^sha256=/, '')),
      metadataSha256: hashOf(metadata?.replace(/^sha256=/, '')) ?? null,
      size: null,
      requiresPython: given.get('data-requires-python') || null,
      yankedReason: given.get('data-yanked') ?? null,
      uploadedAt: null,
    }
  })
}

function decodeName(link: string): string {
  try {
    return decodeURIComponent(link.split('?')[0]?.split('/').at(-1) ?? '')
  } catch {
    return ''
  }
}

const absolute = (link: string, page: URL): string =>
  URL.canParse(link, page.href) ? new URL(link, page).href : ''

const hashOf = (text: string | undefined): string | undefined =>
  text !== undefined && SHA256.test(text) ? text : undefined

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

const ENTITY = /&(#\d{1,6}|#x[0-9a-f]{1,5}|[a-z]{2,4});/gi
const CODE_POINT_MAX = 0x10_ff_ff

const decode = (text: string): string =>
  text.replaceAll(ENTITY, (all: string, entity: string) => {
    if (!entity.startsWith('#')) return NAMED[entity.toLowerCase()] ?? all
    const code = Number(entity.slice(1).replace(/^x/i, '0x'))
    return code <= CODE_POINT_MAX ? String.fromCodePoint(code) : all
  })

const unreadable = (name: string): AppError =>
  new AppError('bad_gateway', `The public index does not send a page of files for ${name}.`)
