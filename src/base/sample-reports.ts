/** A log that nobody fills by causing the same line again and again. */

/** Samples log reports: the first ten of a kind, then each power of two, so that many errors do not fill the log. */
export function sampleReports(): () => number | undefined {
  let seen = 0;
  return () => {
    seen += 1;
    return seen <= 10 || (seen & (seen - 1)) === 0 ? seen : undefined;
  };
}
