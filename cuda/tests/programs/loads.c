/* Loads a library by its path, or by its name in a folder that only this program searches, and calls it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **names) {
    void *library = dlopen(names[count - 1], RTLD_NOW);
    int (*product)(int, int) = library ? (int (*)(int, int))dlsym(library, "product") : 0;
    if (!product) {
        puts(dlerror());
        return 1;
    }
    printf("%d %d\n", product(6, 7), product(5, 3));
    return 0;
}
