import { group, quantity } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** The index of Python packages. */
export const tools = group('The index of Python packages that crews use.', {
  upstream: type.optionalUrl(
    'A public index that organizations reach through the tools index, such as ' +
      '`https://pypi.org/simple`: crews then need no way to it. A name that the organization or ' +
      'the platform has itself never comes from there. Empty means none.',
  ),
  upstreamSecret: type.objectName(
    'Secret of yours with the key `password`, and with `username` where it is not `__token__`, ' +
      'for a `tools.upstream` that asks for a sign-in. They go to its origin only.',
  ),
  upstreamStorage: quantity(
    '10Gi',
    'The most that what was fetched from there takes in the main database; what was used longest ' +
      'ago is deleted. Backups leave it out.',
  ),
})
