import { contextOf } from '../render.ts'
import { imagesIn } from './chart-images.ts'
import type { ChartImages } from './chart-images.ts'

const RELEASE = { name: 'platform', namespace: 'platform' }

/**
 * Every image that the chart runs with these values laid over the defaults. Raises `ValuesError`
 * with every mistake.
 */
export const imagesOf = (overrides: readonly unknown[]): ChartImages =>
  imagesIn(contextOf(overrides, RELEASE), contextOf([], RELEASE))
