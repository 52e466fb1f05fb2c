/** Names of bindings in the application: JavaScript identifiers (ECMA-262 §12.7). */

/**
 * Words that cannot name a variable in a module: keywords, future reserved words and strict mode words (ECMA-262
 * §12.7.2).
 */
const RESERVED_WORDS: ReadonlySet<string> = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
    'false finally for function if implements import in instanceof interface let new null package private protected ' +
    'public return static super switch this throw true try typeof var void while with yield'
  ).split(' '),
);

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

const LONGEST = 255;

/** Why a text cannot be the name of a binding or secret, as the end of a sentence; undefined when it can. */
export function bindingNameFault(name: string): string | undefined {
  if (name === '') return 'it is empty';
  if (name.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  if (!IDENTIFIER.test(name)) {
    return 'it is not a JavaScript identifier: letters, digits, _ and $, not beginning with a digit';
  }
  if (RESERVED_WORDS.has(name)) return 'it is a reserved word of JavaScript';
  return undefined;
}
