/**
 * YAML is read and written on a thread, because some kilobytes of it take a hundred milliseconds, and a text that was made to take
 * long ends with the thread.
 */
import { Worker } from 'node:worker_threads';
import type { TurnLimits } from '../../base/turns.js';
import { requireAccount } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { keptTurns } from '../kernel/kept-turns.js';
import { templateFailure } from './errors.js';
import type { Template } from './template.js';
import { createTemplate, getTemplate, putTemplate, type TemplateItem } from './templates.js';
import { MOST_TEXT_OCTETS, type TextResult } from './text.js';

export type TextOrder = { readonly text: string } | { readonly template: Template };

/** Of all, and of one account. */
const LIMITS: TurnLimits = {
  all: { places: 2, waiting: 100 },
  each: [{ places: 1, waiting: 10 }],
  waitMs: 20_000,
};
const RESOURCES = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
const LONGEST_MS = 10_000;

export const turnsOfTexts = keptTurns(LIMITS);

/** Creates the template that a YAML text describes; `replace`: or replaces the one of its name. */
export async function importTemplate(
  ctx: Context,
  accountId: string,
  octets: Uint8Array,
  replace: boolean,
): Promise<TemplateItem> {
  requireAccount(ctx, accountId);
  if (octets.length > MOST_TEXT_OCTETS) throw badBody(`a file of up to ${MOST_TEXT_OCTETS} octets is expected`);
  const result = await onThread<TextResult>(ctx, accountId, { text: textOf(octets) });
  if ('fault' in result) {
    const { line, column, message } = result.fault;
    throw badBody(`line ${line}, column ${column}: ${message}`);
  }
  return (replace ? putTemplate : createTemplate)(ctx, accountId, result.value);
}

export async function exportTemplate(ctx: Context, accountId: string, id: string): Promise<string> {
  return onThread<string>(ctx, accountId, { template: await getTemplate(ctx, accountId, id) });
}

function textOf(octets: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    throw badBody('the file is not UTF-8 text');
  }
}

async function onThread<Result>(ctx: Context, accountId: string, order: TextOrder): Promise<Result> {
  const leave = await turnsOfTexts(ctx).enter([accountId]);
  if (typeof leave === 'string') throw templateFailure('busy');
  const thread = new Worker(new URL('./text-thread.js', import.meta.url), {
    ...{ name: 'template-text', workerData: order, resourceLimits: RESOURCES },
  });
  const cancel = ctx.clock.after(LONGEST_MS, () => void thread.terminate());
  try {
    return await new Promise<Result>((resolve, reject) => {
      thread.once('message', resolve);
      thread.once('error', reject);
      thread.once('exit', () => reject(templateFailure('tooHeavy')));
    });
  } catch (error) {
    throw isOutOfMemory(error) ? templateFailure('tooHeavy') : error;
  } finally {
    cancel();
    leave();
    void thread.terminate();
  }
}

function isOutOfMemory(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY' || error instanceof RangeError;
}
