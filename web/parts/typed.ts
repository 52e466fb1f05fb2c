/** What people paste into fields of one word: names, addresses, secrets. Texts that may contain anything are not for this. */

/** Characters without width that documents, chats and mail programs put into names; joiners are part of some scripts, and stay. */
const WITHOUT_WIDTH = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;
const QUOTED = /^["'`“”„‘’«»](.*)["'`“”„‘’«»]$/s;

/** The word without what stands around it by accident: blanks, line ends, quotes, and characters that nobody sees. */
export function oneWord(text: string): string {
  return text.replaceAll(WITHOUT_WIDTH, '').trim().replace(QUOTED, '$1').trim();
}
