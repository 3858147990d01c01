/** The part of swagger-ui that the console uses. */
declare module 'swagger-ui-dist/swagger-ui-bundle.js' {
  interface SwaggerRequest {
    headers: Record<string, string>;
  }

  interface SwaggerOptions {
    readonly url: string;
    readonly domNode: Element;
    readonly docExpansion: 'none';
    readonly filter: boolean;
    readonly validatorUrl: null;
    readonly requestInterceptor: (request: SwaggerRequest) => SwaggerRequest;
  }

  export default function SwaggerUI(options: SwaggerOptions): unknown;
}
