/**
 * Why a server of somebody else did not do what was asked. The operator reads what happened; a tenant, who chooses which address
 * and port is asked, reads a class only: what an open port says and what a closed one does must look alike.
 */
import type { Actor } from './actor.js';

/** Classes at the beginning of a stored text. A text with neither is about a server that was not reached. */
const WRONG_ANSWER = 'wrong answer';
const REFUSED = 'refused by policy';
const NOT_REACHED = 'not reached';

/** A DNS server answered, and not what was asked for. */
export function wrongAnswer(detail: string): string {
  return `${WRONG_ANSWER}: ${detail}`;
}

/** Nothing was sent to it. */
export function refusedByPolicy(detail: string): string {
  return `${REFUSED}: ${detail}`;
}

/** What an actor may read of a stored text; null stays null. */
export function shownFailure({ superAdministrator }: Actor, text: string | null): string | null {
  if (text === null || superAdministrator) return text;
  return [WRONG_ANSWER, REFUSED].find((name) => text.startsWith(`${name}: `)) ?? NOT_REACHED;
}
