import { backups } from './backups.ts'
import { configuration } from './configuration.ts'
import { crewImages } from './crew-images.ts'
import { evictions } from './evictions.ts'
import { faults } from './faults.ts'
import { fixes } from './fixes.ts'
import { installation } from './installation.ts'
import { network } from './network.ts'
import { openshift } from './openshift.ts'
import { ownCrew } from './own-crew.ts'
import { predictions } from './predictions.ts'
import { removal } from './removal.ts'
import type { Step } from './step.ts'
import { upgrades } from './upgrades.ts'
import { workloads } from './workloads.ts'

/** Every step in the order of the walk; each one leaves the installation well. */
export const steps: readonly Step[] = [
  ...installation,
  ...ownCrew,
  ...crewImages,
  ...network,
  ...upgrades,
  ...predictions,
  ...configuration,
  ...workloads,
  ...evictions,
  ...backups,
  ...faults,
  ...fixes,
  ...removal,
  ...openshift,
]
