import fc from 'fast-check'
import { contextOf, platformFiles } from '../../../infra/render.ts'
import type { Context } from '../../../infra/template/expression.ts'
import type { JsonObject } from '../../../infra/template/json.ts'
import { schema } from '../../../infra/values.ts'
import { arbitraryValues } from './arbitrary-values.ts'
import { chartStream, RELEASE, tree } from './platform.ts'
import { expectSameObjects } from './same-objects.ts'
import { sensible } from './sensible-values.ts'

const defaults = contextOf([], RELEASE)

/** What Helm hands to templates: the values as they were given, digits as numbers among them. */
export const uncheckedContext = (values: Readonly<Record<string, unknown>>): Context => ({
  ...defaults,
  Values: withoutNulls(values) as JsonObject,
})

/** A null removes the default, and Helm the key with it. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isCollection(value)) return value
  const members = Object.entries(value).filter(([, member]) => member !== null)
  return Object.fromEntries(members.map(([key, member]) => [key, withoutNulls(member)]))
}

/** How many random sets `npm test` tries of each kind. */
export const SETS = 5

/**
 * Fails when the chart and the plain manifests are not the same objects for some random, hostile
 * values.
 */
export function checkEquality({ postgres, numRuns }: { postgres: boolean; numRuns: number }): void {
  const values = arbitraryValues(schema).map((random) =>
    sensible(random, { postgres, anyName: true }),
  )
  fc.assert(fc.property(values, expectSame), { numRuns })
}

function expectSame(values: Readonly<Record<string, unknown>>): void {
  const files = platformFiles(contextOf([values], RELEASE), tree)
  expectSameObjects(chartStream(uncheckedContext(values)), [...files.values()].join('---\n'))
}

const isCollection = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
