/**
 * The format of every answer (v4: §1.2). The order of the members is part of it, because shell clients cut the text
 * with sed.
 */

export interface Message {
  readonly code: number;
  readonly message: string;
  /** Only on the message of a token check, where it is null. */
  readonly type?: null;
  readonly source?: { readonly pointer: string };
  readonly error_chain?: readonly { readonly code: number; readonly message: string }[];
}

export interface ResultInfo {
  readonly page: number;
  readonly per_page: number;
  readonly count: number;
  readonly total_count: number;
  readonly total_pages: number;
}

export interface Success<Result> {
  result: Result;
  success: true;
  errors: Message[];
  messages: Message[];
  result_info?: ResultInfo;
}

export interface Failure {
  result: null;
  success: false;
  errors: Message[];
  messages: Message[];
}

/** A successful answer. */
export function success<Result>(result: Result, messages: readonly Message[] = []): Success<Result> {
  return { result, success: true, errors: [], messages: [...messages] };
}

/** A successful answer that is one page of a list. */
export function successPage<Item>(items: Item[], info: ResultInfo): Success<Item[]> {
  return { result: items, success: true, errors: [], messages: [], result_info: info };
}

/** A refusal; `errors` is never empty (v4: §0.17). */
export function refusal(errors: Message[]): Failure {
  return { result: null, success: false, errors, messages: [] };
}
