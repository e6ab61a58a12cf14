import { builtIn, text } from '../template/operators.ts'
import type { Val } from '../template/expression.ts'

/** The name under which the platform is installed. */
export const release = builtIn('Release.Name')

/** The name of a component's objects: `<release>-<component>`. */
export const nameOf = (component: string): Val<string> => text`${release}-${component}`
