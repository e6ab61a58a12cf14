import { builtIn, labelSet } from '../template/operators.ts'
import { spread } from '../template/structure.ts'
import { release } from './names.ts'

/** Identifies the pods of a component. Selectors cannot be changed after the install, so neither can these. */
export const selectorLabels = (component: string) =>
  spread(
    labelSet(`platform.${component}.selectorLabels`, {
      'app.kubernetes.io/name': 'platform',
      'app.kubernetes.io/instance': release,
      'app.kubernetes.io/component': component,
    }),
  )

/** Identifies the pods of all components of a release. */
export const releaseLabels = spread(
  labelSet('platform.releaseLabels', {
    'app.kubernetes.io/name': 'platform',
    'app.kubernetes.io/instance': release,
  }),
)

const commonLabels = labelSet('platform.labels', {
  'app.kubernetes.io/part-of': 'platform',
  'app.kubernetes.io/version': builtIn('Chart.AppVersion'),
})

/** The labels of a component's objects. */
export const labels = (component: string) => ({
  ...selectorLabels(component),
  ...spread(commonLabels),
})
