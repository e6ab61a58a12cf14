import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { contextOf, platformFiles } from '../../../infra/render.ts'
import { schema } from '../../../infra/values.ts'
import { arbitraryValues } from './arbitrary-values.ts'
import { uncheckedContext } from './equality.ts'
import { chartStream, RELEASE, sorted, tree } from './platform.ts'
import { sensible } from './sensible-values.ts'

const SOURCE = resolve('test/infra/api-validation')
const PROGRAM = resolve('node_modules/.cache/api-validation/api-validation')

/** What Kubernetes makes of one stream of YAML. */
export interface Verdict {
  readonly objects: readonly unknown[]
  readonly problems: readonly string[]
}

/** True when the validation of Kubernetes' API server has been built here. */
export const isBuilt = (): boolean => existsSync(PROGRAM)

/** Builds it, from its Go modules; says why not where it cannot. */
export function buildApiValidation(): string | undefined {
  if (spawnSync('go', ['version']).status !== 0) return 'there is no Go toolchain'
  mkdirSync(join(PROGRAM, '..'), { recursive: true })
  const { status, stderr } = spawnSync('go', ['build', '-o', PROGRAM, '.'], {
    cwd: SOURCE,
    encoding: 'utf8',
  })
  return status === 0 ? undefined : stderr
}

/** Reads, decodes, defaults and validates streams of YAML as an API server of Kubernetes does. */
export function validate(streams: readonly string[]): readonly Verdict[] {
  const { stdout, stderr, status } = spawnSync(PROGRAM, [], {
    input: streams.map((yaml) => `${JSON.stringify({ yaml })}\n`).join(''),
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  })
  if (status !== 0) throw new Error(stderr)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The manifests of some values, in one stream. */
export const streamOf = (values: unknown): string =>
  [...platformFiles(contextOf([values], RELEASE), tree).values()].join('---\n')

/**
 * What Kubernetes has against the manifests of random values that synth accepts, and the sets of
 * which it reads other objects in the bytes of the chart than in those of the manifests.
 */
export function problemsOfRandomValues(numRuns: number): readonly string[] {
  const random = arbitraryValues(schema).map((values) => sensible(values, { anyName: true }))
  const problems: string[] = []
  // In portions, so that their bytes fit into memory.
  for (let done = 0; done < numRuns; done += PORTION) {
    const samples = fc.sample(random, { numRuns: Math.min(PORTION, numRuns - done) })
    const plain = validate(samples.map(streamOf))
    const rendered = validate(samples.map((values) => chartStream(uncheckedContext(values))))
    for (const [index, { objects, problems: refused }] of plain.entries()) {
      problems.push(...refused)
      const isSame = isDeepStrictEqual(sorted(objects), sorted(rendered[index]?.objects ?? []))
      if (!isSame) problems.push(`not the same bytes: ${JSON.stringify(samples[index])}`)
    }
  }
  return problems
}

const PORTION = 100
