import { digits } from '../template/operators.ts'
import { values } from '../values.ts'
import { setWhen } from './env.ts'

const { requireProof, proofKey, proofDays } = values.upgrade

/** The variables of containers that migrate, where an upgrade has to be proven first. */
export const proofEnv = () => ({
  UPGRADE_PROOF_KEY: setWhen(requireProof, proofKey),
  UPGRADE_PROOF_DAYS: setWhen(requireProof, digits(proofDays)),
})
