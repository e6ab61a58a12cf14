import type { In } from '../template/operators.ts'
import type { Val } from '../template/expression.ts'
import { labelSet } from '../template/named.ts'
import { builtIn, merged, replace, shorten, text } from '../template/operators.ts'
import { spread } from '../template/structure.ts'
import { values } from '../values.ts'
import { release } from './names.ts'

/** Identifies the pods of all components of a release. */
export const releaseLabels = spread(
  labelSet(
    {
      name: 'platform.selectorLabels',
      comment:
        'The labels of all pods of a release. Selectors cannot be changed after the install, so ' +
        'neither can these.',
    },
    { 'app.kubernetes.io/name': 'platform', 'app.kubernetes.io/instance': release },
  ),
)

/** Identifies the pods of a component. */
export const selectorLabels = (component: In<string>) => ({
  'app.kubernetes.io/component': component,
  ...releaseLabels,
})

/**
 * A version as a label takes it: with 63 characters at the most, and without the `+` before
 * metadata of a build.
 */
const asLabel = (version: Val<string>): Val<string> => shorten(63, replace('+', '_', version))

const chartLabels = {
  'app.kubernetes.io/part-of': 'platform',
  'app.kubernetes.io/version': asLabel(builtIn('Chart.AppVersion')),
  'app.kubernetes.io/managed-by': builtIn('Release.Service'),
  'helm.sh/chart': asLabel(text`${builtIn('Chart.Name')}-${builtIn('Chart.Version')}`),
}

const commonLabels = labelSet(
  { name: 'platform.labels', comment: 'The labels of all objects, with those of commonLabels.' },
  chartLabels,
  values.commonLabels,
)

/**
 * The labels of a component's objects. Pods do not have those of the chart: they would restart with
 * each version of it.
 */
export const labels = (component: string) => ({
  ...selectorLabels(component),
  ...spread(commonLabels),
})

/** The same with more of the operator's own, which win over those of all objects. */
export const labelsWith = (component: string, given: typeof values.commonLabels) => ({
  ...selectorLabels(component),
  ...spread(
    labelSet(
      {
        name: 'platform.chartLabels',
        comment: 'The labels of all objects, where others win over those of commonLabels.',
      },
      chartLabels,
    ),
  ),
  ...spread(merged(given, values.commonLabels)),
})

/** The labels of a component's pods. */
export const podLabelsOf = (component: string, given?: typeof values.commonLabels) => ({
  ...selectorLabels(component),
  ...spread(given ? merged(given, values.commonLabels) : values.commonLabels),
})
