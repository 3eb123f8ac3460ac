/* Each function of the driver is found by its name, and an unsupported one returns an error. The argument is a file with the names. */
#include "driver.h"

/* Versioned names, and names of variants for per-thread default streams, are not requested. */
static int is_form(const char *name) {
    const char *end = strrchr(name, '_');
    return end && (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0 || (end[1] == 'v' && end[2] >= '0' && end[2] <= '9'));
}

int main(int count, char **arguments) {
    char name[100];
    void *address;
    int missing = 0, status;
    FILE *names = fopen(arguments[count - 1], "r");

    HOLDS(names != NULL);
    while (fscanf(names, "%99s", name) == 1) {
        if (!is_form(name) && (cuGetProcAddress_v2(name, &address, 13050, 0, &status) != 0 || address == NULL)) {
            printf("%s is missing\n", name);
            ++missing;
        }
    }
    fclose(names);
    HOLDS(missing == 0);
    OK(cuGetProcAddress_v2("cuLogicalEndpointCreate", &address, 13050, 0, &status));
    EXPECT(NOT_SUPPORTED, ((CUresult(*)(void))address)());
    puts("done");
    return 0;
}
