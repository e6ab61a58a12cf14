import { boolean, group, integer, string } from '../template/schema.ts'

/** What an upgrade has to pass. */
export const upgrade = group('What an upgrade, and the way back, has to pass.', {
  requireProof: boolean(
    false,
    'Migrate no database, and run on no newer schema, before a verdict of `upgrade:prove` about ' +
      'this pair of versions is recorded in it. A new installation needs none.',
  ),
  proofKey: string(
    '',
    'The public key of the verdicts, as `upgrade:prove --print-key` has it. Needed with ' +
      '`requireProof`.',
    {
      pattern: /^(302a300506032b6570032100[0-9a-f]{64})?$/,
      expected: '88 hexadecimal digits of `upgrade:prove --print-key`, or ""',
    },
  ),
  proofDays: integer(7, 'Days for which a verdict counts.', { min: 1, max: 365 }),
})
