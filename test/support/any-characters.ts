import fc from 'fast-check'

const character = fc
  .integer({ min: 0, max: 0x10_ff_ff })
  .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
  .map((code) => String.fromCodePoint(code))

/**
 * Texts of any characters, with NUL and what is assigned to none. As `unit: 'binary'` of
 * fast-check, which lists them all first and takes most of a second for it.
 */
export const anyCharacters = (maxLength = 10): fc.Arbitrary<string> =>
  fc.string({ unit: character, maxLength })
