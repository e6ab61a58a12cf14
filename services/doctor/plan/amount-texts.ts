/** A number with three digits that count: `0.15`, `347`, `10,000,000`. */
export const numberText = (number: number): string => DIGITS.format(number)

const DIGITS = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

/** Bytes with their unit, such as `11 GB`. */
export function bytesText(bytes: number): string {
  const at = Math.max(0, Math.min(5, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  return `${numberText(bytes / 1000 ** at)} ${['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'][at]}`
}
