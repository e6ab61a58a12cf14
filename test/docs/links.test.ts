import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { DOCUMENTS, readDocument, root } from './documents.ts'

/** The anchor of a heading, as the pages of a repository have it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchorsOf = (path: string): string[] =>
  [...readDocument(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

interface Link {
  readonly path: string
  readonly anchor: string | undefined
}

/** The links of a document within the repository, from its root. */
function linksOf(document: string): Link[] {
  const targets = [...readDocument(document).matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, target = '']) => target,
  )
  return targets
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#')
      return { path: path === '' ? document : join(dirname(document), path), anchor }
    })
}

describe('the links between documents', () => {
  it.each(DOCUMENTS)('lead somewhere from %s', (document) => {
    const broken = linksOf(document).filter(({ path, anchor }) => {
      if (!existsSync(join(root, path))) return true
      return anchor !== undefined && !anchorsOf(path).includes(anchor)
    })
    expect(broken).toEqual([])
  })

  it('lead from the index to every document of the manual', () => {
    const linked = linksOf('docs/README.md').map(({ path }) => relative('docs', path))
    const manual = DOCUMENTS.filter((path) => /^docs\/(?!README|decisions)/.test(path))
    expect(linked.toSorted()).toEqual(manual.map((path) => relative('docs', path)).toSorted())
  })
})
