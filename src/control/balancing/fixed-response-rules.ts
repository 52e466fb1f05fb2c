/** Rules of responses that are given instead of a pool. */
import { type Members, memberOr } from '../../balancing/members.js';
import { requireRange, requireText } from './check.js';
import { invalid } from './errors.js';

export function checkFixedResponse(fixed: Members, at: string): void {
  requireRange(fixed, 'status_code', { least: 0, most: 599 }, at);
  const code = memberOr(fixed, 'status_code', 0);
  if (!Number.isInteger(code) || (code !== 0 && code < 200)) {
    throw invalid('status_code is not in range [200, 599]', `${at}/status_code`);
  }
  requireText(fixed, 'content_type', 32, at);
  requireText(fixed, 'location', 2048, at);
  if (memberOr(fixed, 'message_body', '').length > 1024) {
    throw invalid('message_body is longer than 1024 characters', `${at}/message_body`);
  }
}
