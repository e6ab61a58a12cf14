import {
  builtIn,
  digest,
  isSet,
  matches,
  pick,
  shorten,
  text,
  trimSuffix,
} from '../template/operators.ts'
import { helper } from '../template/named.ts'
import type { Val } from '../template/expression.ts'
import { values } from '../values.ts'

/** The name under which the platform is installed. */
export const release = builtIn('Release.Name')

const { fullnameOverride, nameOverride } = values

const whole = helper(
  {
    name: 'platform.releaseName',
    comment: 'The name of the release, with the part that nameOverride adds.',
    isName: true,
  },
  pick(isSet(nameOverride), text`${release}-${nameOverride}`, release),
)

// Names of up to 63 characters have room for a component and the digest of a Job behind 40.
const shortened = text`${trimSuffix('-', shorten(31, whole))}-${shorten(8, digest(whole))}`

/**
 * The beginning of the names of all objects: the name of the release, shortened where it is long.
 */
export const fullName = helper(
  {
    name: 'platform.fullname',
    comment:
      'The beginning of the names of all objects: fullnameOverride, or the name of the release. ' +
      'Names have up to 63 characters: a release of more than 40 is shortened, so that ' +
      'a component and the digest of a Job fit behind it.',
    isName: true,
  },
  pick(isSet(fullnameOverride), fullnameOverride, pick(matches('^.{41}', whole), shortened, whole)),
)

/** The name of a component's objects: `<release>-<component>`. */
export const nameOf = (component: string): Val<string> => text`${fullName}-${component}`
