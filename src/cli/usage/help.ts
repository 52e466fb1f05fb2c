/** How help is laid out: as commander does it where there is room, otherwise each description below its term. */
import { Help } from 'commander';

const INDENT = 2;
const BETWEEN = 2;
/** Of descriptions below their terms. */
const BELOW = 8;
/** Descriptions beside their terms have so much room at least. */
const LEAST_BESIDE = 40;
/** Narrower text is wrapped by the terminal. */
const LEAST_WIDTH = 24;

/** An argument, option or command with its description. `widest`: the length of the longest term of this help. */
function formatItem(term: string, widest: number, description: string, helper: Help): string {
  const width = helper.helpWidth ?? 80;
  const room = width - widest - INDENT - BETWEEN;
  if (room >= LEAST_BESIDE) return Help.prototype.formatItem.call(helper, term, widest, description, helper);
  const lines = helper.boxWrap(description, Math.max(width - BELOW, LEAST_WIDTH)).split('\n');
  return [' '.repeat(INDENT) + term, ...lines.map((line) => ' '.repeat(BELOW) + line)].join('\n');
}

export const HELP_LAYOUT = { formatItem, minWidthToWrap: LEAST_WIDTH };
