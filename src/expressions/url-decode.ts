/** Percent-encoded texts (RFC 3986 §2.1), as rules read them: `+` is a space, and what is not an escape stays as it is. */

/** Repetitions of the option `r`: each makes the text shorter, so there are few. */
const MOST_ROUNDS = 8;

/** Options: `r` again until nothing changes, `u` also `%uXXXX`. */
export function decodeUrl(text: string, options: string): string {
  let decoded = decodeOnce(text, options.includes('u'));
  if (!options.includes('r')) return decoded;
  for (let round = 1; round < MOST_ROUNDS; round++) {
    const again = decodeOnce(decoded, options.includes('u'));
    if (again === decoded) break;
    decoded = again;
  }
  return decoded;
}

function decodeOnce(text: string, isUnicode: boolean): string {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const wide = isUnicode
    ? spaced.replace(/%u([0-9A-Fa-f]{4})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
    : spaced;
  // Escapes that follow each other are the octets of a text in UTF-8.
  return wide.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) =>
    Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
