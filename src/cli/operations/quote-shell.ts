/** Words of commands that people copy into a shell. */

/** As it is where no shell of the Bourne family changes it, otherwise between single quotes. */
export function quoteShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoteAlways(word);
}

/** Between single quotes. */
export function quoteAlways(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
