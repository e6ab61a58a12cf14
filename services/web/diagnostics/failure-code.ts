import { fixSentence } from '../../shared/fixable-codes.ts'

/** The reason for a failure or a warning: a word for programs, and a remedy for people. */
export interface FailureCode {
  readonly code: string
  readonly remediation: string
}

/** Failure codes by their word. */
export type FailureCodes<Word extends string = string> = Readonly<Record<Word, FailureCode>>

/** Declares failure codes, each as the word with its remedy, and with its fix if there is one. */
export function declareCodes<Word extends string>(
  remedies: Readonly<Record<Word, string>>,
): FailureCodes<Word> {
  const codes = Object.entries<string>(remedies).map(
    ([code, remediation]) =>
      [code, { code, remediation: remediation + fixSentence(code) }] as const,
  )
  // The keys stay: fromEntries knows them as strings only.
  return Object.fromEntries(codes) as Record<Word, FailureCode>
}
