import { AppError } from '../../shared/errors.ts'
import { openBlocks } from '../../shared/kubernetes/network-peers.ts'
import type { OpenRanges } from '../../shared/kubernetes/network-peers.ts'
import { narrow, readRange } from '../../shared/outgoing/address-ranges.ts'
import type { AddressRange } from '../../shared/outgoing/address-ranges.ts'

/** The entry of an automation's list that stands for every public address. */
export const INTERNET = 'internet'
const SERVICE = /^[a-z0-9-]+\.([a-z0-9-]+)\.svc(?:\.|$)/

/** What an operator lets the lists of automations open. */
export interface ReachRules extends OpenRanges {
  /** The namespaces whose Services may be named; undefined: any. */
  readonly namespaces: readonly string[] | undefined
}

/** Returns what the variables of `crewReachEnv` allow. */
export const reachRulesOf = ({
  CREW_PRIVATE_RANGES: hasPrivateRanges,
  CREW_RANGES: ranges,
  CREW_NAMESPACES: namespaces,
}: {
  readonly CREW_PRIVATE_RANGES: boolean
  readonly CREW_RANGES: readonly string[]
  readonly CREW_NAMESPACES: readonly string[]
}): ReachRules => ({
  hasPrivateRanges,
  ranges,
  namespaces: namespaces.includes('*') ? undefined : namespaces,
})

/** An entry of a list as it was read. */
type Place =
  | { readonly ranges: readonly AddressRange[] }
  | { readonly namespace: string }
  | { readonly host: string }

/** Reads an entry: `internet`, an address or a range, the name of a Service, or any other host. */
export function readPlace(entry: string): Place {
  const range = readRange(entry)
  if (range !== undefined) return { ranges: [range] }
  if (entry === INTERNET)
    return { ranges: ['0.0.0.0/0', '::/0'].flatMap((all) => readRange(all) ?? []) }
  const namespace = SERVICE.exec(entry)?.[1]
  return namespace === undefined ? { host: entry } : { namespace }
}

/** Returns why an entry opens nothing, whatever its names lead to; undefined: it may. */
export function findRefusal(entry: string, rules: ReachRules): string | undefined {
  const place = readPlace(entry)
  if ('namespace' in place) {
    const { namespaces } = rules
    if (namespaces === undefined || namespaces.includes(place.namespace)) return undefined
    return (
      `${entry} is a Service of the namespace ${place.namespace}, which crews may not reach. ` +
      'The operator may list it in networkPolicy.crewNamespaces.'
    )
  }
  if ('host' in place) return undefined
  const open = openBlocks(rules)
  const isOpen = place.ranges.some((range) => narrow(range, open).length > 0)
  return isOpen ? undefined : refusalOf(entry)
}

/** Says that addresses are shut: those of an entry, or some of those that its name has. */
export function refusalOf(entry: string, range = entry): string {
  const subject = range.startsWith(entry) ? `${entry} is` : `${entry} has the address ${range},`
  return (
    `${subject} not among the addresses that crews may reach: those of a node, of its link and ` +
    'of cloud metadata never are, and private ones only where the operator lists them in ' +
    'networkPolicy.crewRanges or sets networkPolicy.crewPrivateRanges.'
  )
}

/** Raises `unprocessable` for the first entry that opens nothing. */
export function checkReach(entries: readonly string[], rules: ReachRules): void {
  const refusal = entries.map((entry) => findRefusal(entry, rules)).find(Boolean)
  if (refusal !== undefined) throw new AppError('unprocessable', refusal)
}
