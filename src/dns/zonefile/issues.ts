/** What is wrong with a zone file, each with its place. */
import type { Issue, Severity } from '../../base/result.js';
import { NameError } from '../name.js';
import { PresentationError, type Token } from '../presentation.js';
import type { LexicalFault } from './lexer.js';

/** A file with more errors is probably not a zone file; reading stops. */
const MAX_ISSUES = 1000;
/** Characters of the invalid text that a message shows. */
const SHOWN = 40;

export class ZoneFileIssues {
  readonly all: Issue[] = [];

  /** Whether the rest of the file is not worth reading. */
  get areTooMany(): boolean {
    return this.all.length >= MAX_ISSUES;
  }

  report(fault: LexicalFault, file: string | undefined, code = 'syntax', severity: Severity = 'error'): void {
    const { message, line, column, text } = fault;
    this.all.push({
      severity,
      code,
      message,
      line,
      column,
      ...(file === undefined ? {} : { file }),
      ...(text === undefined ? {} : { text: text.slice(0, SHOWN) }),
    });
  }

  /** Says at an entry that the rest is not read, when there are too many. */
  reportEnd(line: number, file: string | undefined): void {
    if (!this.areTooMany) return;
    const message = `more than ${MAX_ISSUES} errors; the rest of the file was not read`;
    this.report({ message, line, column: 1 }, file, 'too-many-errors');
  }

  /** Runs a part of reading an entry with these tokens; its errors become issues. */
  collect<T>(tokens: readonly Token[], file: string | undefined, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (error instanceof PresentationError) this.report(error, file);
      else if (error instanceof NameError) this.report(nameFault(error, tokens), file);
      else throw error;
      return undefined;
    }
  }
}

function nameFault({ message }: NameError, tokens: readonly Token[]): LexicalFault {
  const { line, column, text } = tokens[tokens.length - 1]!;
  return { message, line, column, text };
}
