import { backups } from './backups.ts'
import { configuration } from './configuration.ts'
import { crewImages } from './crew-images.ts'
import { evictions } from './evictions.ts'
import { faults } from './faults.ts'
import { installation } from './installation.ts'
import { network } from './network.ts'
import { openshift } from './openshift.ts'
import { ownCrew } from './own-crew.ts'
import { removal } from './removal.ts'
import type { Step } from './step.ts'
import { upgrades } from './upgrades.ts'

/** Every step in the order of the walk; each one leaves the installation well. */
export const steps: readonly Step[] = [
  ...installation,
  ...ownCrew,
  ...crewImages,
  ...network,
  ...upgrades,
  ...configuration,
  ...evictions,
  ...backups,
  ...faults,
  ...removal,
  ...openshift,
]
