import {
  builtIn,
  digest,
  helper,
  isSet,
  matches,
  pick,
  shorten,
  text,
  trimSuffix,
} from '../template/operators.ts'
import type { Val } from '../template/expression.ts'
import { values } from '../values.ts'

/** The name under which the platform is installed. */
export const release = builtIn('Release.Name')

const { fullnameOverride, nameOverride } = values

const whole = helper(
  'platform.releaseName',
  pick(isSet(nameOverride), text`${release}-${nameOverride}`, release),
  { isName: true },
)

// Names of up to 63 characters have room for a component and the digest of a Job behind 40.
const shortened = text`${trimSuffix('-', shorten(31, whole))}-${shorten(8, digest(whole))}`

/**
 * The beginning of the names of all objects: the name of the release, shortened where it is long.
 */
export const fullName = helper(
  'platform.fullname',
  pick(isSet(fullnameOverride), fullnameOverride, pick(matches('^.{41}', whole), shortened, whole)),
  { isName: true },
)

/** The name of a component's objects: `<release>-<component>`. */
export const nameOf = (component: string): Val<string> => text`${fullName}-${component}`
