/** What the failures of PostgreSQL mean, by their codes (SQLSTATE). */
import { messageOf, UserError } from '../base/errors.js';
import { LogUnavailable } from '../store/failures.js';

const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

const isAnswer = (error: unknown): boolean => /^[0-9A-Z]{5}$/.test(codeOf(error));

/** Failures after which the connection is not used any more: no SQLSTATE at all, or one of an ending server or of a standby. */
export function isLoss(error: unknown): boolean {
  if (error instanceof LogUnavailable) return true;
  return !isAnswer(error) || /^(?:08|53|57P|25006|XX|58)/.test(codeOf(error));
}

/** Wrong name, password, database or rights: trying again does not help. */
export function isRefusal(error: unknown): boolean {
  return /^(?:28|3D000|42501)/.test(codeOf(error));
}

export function refused(error: unknown): UserError {
  return new UserError(
    `PostgreSQL refuses the connection: ${messageOf(error)}`,
    'Check user, password and database of ZONEPLANE_CLUSTER.',
  );
}

/** Whether a statement failed since its schema is there already, made by somebody else perhaps at the same time. */
export const isDuplicate = (error: unknown): boolean => /^(?:42P06|42P07|23505)$/.test(codeOf(error));
/** Whether a statement failed since its tables are missing. */
export const isMissing = (error: unknown): boolean => /^(?:42P01|3F000)$/.test(codeOf(error));
/** Whether the server refuses a statement for another reason than its own end. */
export const isRefused = (error: unknown): boolean => isAnswer(error) && !isLoss(error) && !isLockTimeout(error);
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03';

/** A UserError for what the server refuses; any other error unchanged. */
export function explainPostgres(error: unknown): unknown {
  if (!isAnswer(error)) return error;
  return new UserError(
    `PostgreSQL refuses it: ${messageOf(error)}`,
    'Check the rights of the user of ZONEPLANE_CLUSTER in that database.',
  );
}
