/** The user and token checks as v4 clients read them (v4: §12). */
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { UserItem } from '../../control/access/item.js';
import { type Success, success } from '../envelope.js';
import { failure } from '../errors.js';
import { callerOf } from '../request.js';
import { printTime } from '../times.js';
import type { tokenVerification, User } from './schema.js';

/** `locked`: whether the session must enrol a second factor first. */
export function userView(item: UserItem, locked = false): User {
  return {
    id: item.id,
    email: item.email,
    first_name: item.firstName,
    last_name: item.lastName,
    username: item.email,
    telephone: item.telephone,
    country: item.country,
    zipcode: item.zipcode,
    two_factor_authentication_enabled: item.hasSecondFactor,
    two_factor_authentication_locked: locked,
    suspended: item.suspended,
    has_pro_zones: false,
    has_business_zones: false,
    has_enterprise_zones: false,
    betas: [],
    organizations: [],
    created_on: printTime(item.createdAt),
    modified_on: printTime(item.modifiedAt),
  };
}

/**
 * The status of a request's bearer token. Throws 403/9109 for a request with a key pair, because it has no token to
 * check.
 */
export function verifyToken(request: FastifyRequest): Success<z.output<typeof tokenVerification>> {
  const { key, scheme } = callerOf(request);
  if (scheme !== 'token' || !key) throw failure('keyOnTokenRoute');
  const view = {
    id: key.id,
    status: key.status,
    ...(key.expiresAt === null ? {} : { expires_on: printTime(key.expiresAt) }),
    ...(key.notBefore === null ? {} : { not_before: printTime(key.notBefore) }),
  };
  return success(view, [{ code: 10000, message: 'This API Token is valid and active', type: null }]);
}
