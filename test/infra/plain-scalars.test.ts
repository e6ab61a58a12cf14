import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPlainScalar } from '../../infra/template/load-values.ts'
import { yamlScalar } from '../../infra/template/scalar.ts'
import { treeOf } from '../../infra/template/tree.ts'
import { writeManifest } from '../../infra/template/writer.ts'
import { anyLines } from './support/arbitrary-texts.ts'
import { parseYaml } from './support/platform.ts'

/** What sigs.k8s.io/yaml 1.6.0, by which Kubernetes and Helm read, answered for each text. */
const golden = JSON.parse(
  readFileSync(new URL('golden/plain-scalars.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, unknown>>

describe('a YAML scalar without quotes', () => {
  it('means what it means to Kubernetes and Helm', () => {
    const read = Object.keys(golden).map((text) => [text, readPlainScalar(text)] as const)
    expect(Object.fromEntries(read)).toEqual(golden)
  })

  it('is no number where go-yaml has an infinity or none at all', () => {
    expect(['.inf', '-.Inf', '+.INF'].map(readPlainScalar)).toEqual([Infinity, -Infinity, Infinity])
    expect(readPlainScalar('.nan')).toBeNaN()
  })
})

describe('a text in a manifest or a template', () => {
  const parts = fc.constantFrom('-', '+', '.', '_', '0', '1', '9', 'e', 'x', 'inf', 'no', 'Y', ':')
  const texts = fc.array(parts, { maxLength: 5 }).map((chosen) => chosen.join(''))

  it('reads back as the same text, without quotes or with them', () => {
    expect(Object.keys(golden).map(readBack)).toEqual(Object.keys(golden))
    fc.assert(
      fc.property(texts, (text) => readBack(text) === text),
      { numRuns: 500 },
    )
  })

  function readBack(text: string): unknown {
    const written = yamlScalar(text)
    const isQuoted = written.startsWith('"')
    return isQuoted ? JSON.parse(written) : readPlainScalar(written)
  }

  it.each(['a \nb', 'a\n \nb', 'a\n b', 'a\n\n\nb', 'a\n', '\na', ' a\nb', 'a\t\nb', 'a\r\nb'])(
    'keeps each blank and each break: %j',
    (text) => expect(written(text)).toEqual([{ data: { text } }]),
  )

  it('keeps any text of several lines', () => {
    fc.assert(
      fc.property(anyLines, (text) => {
        expect(written(text)).toEqual([{ data: { text } }])
      }),
      { numRuns: 500 },
    )
  })

  const written = (text: string): unknown =>
    parseYaml(writeManifest(treeOf({ data: { text } }, new Map())))

  it.each(['-.5', '-.0', '-._0', '-_0', '-_.1', '-.inf', '-.Inf', '-.nan'])(
    'is quoted when it is %s, which YAML 1.1 reads as a number',
    (text) => expect(yamlScalar(text)).toBe(JSON.stringify(text)),
  )
})
