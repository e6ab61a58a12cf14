import { createOutgoingGuard } from '../../services/shared/outgoing/guard.ts'

/** A guard whose operator allows these origins. */
export const guardFor = (...privateOrigins: readonly string[]) =>
  createOutgoingGuard({ privateOrigins, setting: 'A_SETTING' })
